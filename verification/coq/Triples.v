(* A step on a batch of m of n records that adds noise is a mixture of triples: with probability q = m/n the vector of
   the exchanged record, else that of another. So T adaptive steps are at most the supremum over triples, step by step,
   and a list of profiles that dominates all triples dominates T steps. *)

From Coq Require Import Reals Lra List Lia Permutation.
From DPADMM Require Export Composition Subsampling.
Import ListNotations.
Open Scope R_scope.

(* The randomness that both data sets share: m of the other records (B'), and one further record (j). *)
Definition couplings {A} (m : nat) (l : list A) : list (list A * A) :=
  flat_map (fun b => map (fun j => (fst b, j)) (snd b)) (splits m l).

Definition coupling_weight {A} (m : nat) (l : list A) : R := / (count m l * (INR (length l) - INR m)).

Lemma lsum_couplings {A} m (l : list A) f :
  lsum f (couplings m l) = lsum (fun b => lsum (fun j => f (fst b, j)) (snd b)) (splits m l).
Proof.
  unfold couplings. rewrite lsum_flat_map. apply lsum_ext; intros b _. now rewrite lsum_map.
Qed.

Lemma coupling_weight_pos {A} m (l : list A) : (m < length l)%nat -> 0 < coupling_weight m l.
Proof.
  intro H. apply Rinv_0_lt_compat, Rmult_lt_0_compat; [ apply count_pos; lia | apply Rlt_Rminus, lt_INR; lia ].
Qed.

Lemma coupling_weight_total {A} m (l : list A) : (m < length l)%nat ->
  lsum (fun _ => coupling_weight m l) (couplings m l) = 1.
Proof.
  intro H. rewrite lsum_couplings. rewrite (lsum_ext _ (fun _ => / count m l)).
  - rewrite lsum_const. fold (count m l). pose proof (count_pos m l ltac:(lia)). field; lra.
  - intros b Hb%splits_length. rewrite lsum_const. replace (length (snd b)) with (length l - m)%nat by lia.
    rewrite minus_INR by lia. unfold coupling_weight. pose proof (count_pos m l ltac:(lia)).
    assert (INR m < INR (length l)) by (apply lt_INR; lia). field; lra.
Qed.

Lemma on_batch_couplings {A X} m (s : A) l (mu : list A -> X -> R) x : (m < length l)%nat ->
  (forall b b' x, Permutation b b' -> mu b x = mu b' x) ->
  let q := INR (S m) / INR (S (length l)) in
  on_batch (S m) (s :: l) mu x
  = lsum (fun c => coupling_weight m l * mix q (mu (snd c :: fst c)) (mu (s :: fst c)) x) (couplings m l).
Proof.
  intros Hm Perm q. unfold on_batch. rewrite exchange_coupling by (assumption || intros; now apply Perm). fold q.
  rewrite lsum_couplings, <- lsum_scal. apply lsum_ext; intros b Hb%splits_length.
  replace (length (snd b)) with (length l - m)%nat by lia. rewrite minus_INR by lia.
  simpl. rewrite (lsum_scal (coupling_weight m l)). unfold coupling_weight, mix.
  pose proof (count_pos m l ltac:(lia)). assert (INR m < INR (length l)) by (apply lt_INR; lia).
  rewrite <- Rmult_assoc. f_equal. field; lra.
Qed.

(* Domination by a list of profiles passes to mixtures. *)
Lemma dominated_mixture {X A} (I : integral X) N K tau (w : A -> R) (P Q : A -> X -> R) (l : list A) :
  (forall a, In a l -> 0 <= w a /\ intg I (P a) /\ intg I (Q a) /\ dominated I N K tau (P a) (Q a)) ->
  lsum w l = 1 ->
  dominated I N K tau (fun x => lsum (fun a => w a * P a x) l) (fun x => lsum (fun a => w a * Q a x) l).
Proof.
  intros H W.
  assert (Main : exists lam : nat -> R, (forall i, 0 <= lam i) /\ lsum lam (seq 0 N) <= lsum w l /\
    forall y, 0 < y -> lsum (fun a => w a * hockey I y (P a) (Q a)) l
      <= lsum (fun i => lam i * value (K i) y) (seq 0 N) + (lsum w l - lsum lam (seq 0 N)) * pos (1 - y) + lsum w l *
        tau).
  { clear W. induction l as [ | a l IH ].
    - exists (fun _ => 0). simpl. rewrite lsum_const, Rmult_0_r. repeat split; [ intros; lra | lra | ].
      intros y _. rewrite (lsum_ext _ (fun _ => 0)) by (intros; ring). rewrite lsum_const. lra.
    - destruct IH as (lam & L0 & L1 & L2); [ intros; apply H; now right | ].
      destruct (H a ltac:(now left)) as (Hw & _ & _ & lam' & L0' & L1' & L2').
      exists (fun i => lam i + w a * lam' i). rewrite lsum_plus, lsum_scal. simpl.
      pose proof (Rmult_le_compat_l (w a) _ _ Hw L1'). repeat split.
      + intro i. pose proof (Rmult_le_pos _ _ Hw (L0' i)). pose proof (L0 i). lra.
      + lra.
      + intros y Hy. pose proof (L2 y Hy). pose proof (Rmult_le_compat_l (w a) _ _ Hw (L2' y Hy)).
        rewrite (lsum_ext (fun i => (lam i + w a * lam' i) * value (K i) y)
          (fun i => lam i * value (K i) y + w a * (lam' i * value (K i) y))) by (intros; ring).
        rewrite lsum_plus, lsum_scal. lra. }
  destruct Main as (lam & L0 & L1 & L2). rewrite W in *. exists lam. repeat split; [ assumption.. | ].
  intros y Hy. eapply Rle_trans; [ apply hockey_jointly_convex; intros a Ha; repeat split; now apply H | ].
  specialize (L2 y Hy). lra.
Qed.

Lemma dominated_ext {X} (I : integral X) N K tau p q p' q' : intg I p -> intg I q ->
  (forall x, p x = p' x) -> (forall x, q x = q' x) -> dominated I N K tau p' q' -> dominated I N K tau p q.
Proof.
  intros Hp Hq E E' (lam & L0 & L1 & L2). exists lam. repeat split; [ assumption.. | ].
  intros y Hy. rewrite (hockey_ext I y p q p' q') by assumption. now apply L2.
Qed.

(** Settles: TRIPLES. If the list dominates every triple mu(B'+j), mu(B'+s), mu(B'+s'), it dominates the step on the
    batch. *)
Theorem step_dominated_by_triples :
  forall {A X : Type} (I : integral X) (m : nat) (s s' : A) (l : list A) (mu : list A -> X -> R)
    (N : nat) (K : nat -> profile) (tau : R),
  (m < length l)%nat -> (forall b, intg I (mu b)) ->
  (forall b b' x, Permutation b b' -> mu b x = mu b' x) ->
  let q := INR (S m) / INR (S (length l)) in
  (forall B j, length B = m -> dominated I N K tau (mix q (mu (j :: B)) (mu (s :: B)))
    (mix q (mu (j :: B)) (mu (s' :: B)))) ->
  dominated I N K tau (on_batch (S m) (s :: l) mu) (on_batch (S m) (s' :: l) mu).
Proof.
  intros A X I m s s' l mu N K tau Hm Hmu Perm q Dom.
  eapply dominated_ext; try (now apply intg_on_batch); try (intro x; now apply on_batch_couplings).
  fold q. apply (dominated_mixture I N K tau (fun _ => coupling_weight m l)
    (fun c => mix q (mu (snd c :: fst c)) (mu (s :: fst c))) (fun c => mix q (mu (snd c :: fst c)) (mu (s' :: fst c)))).
  - intros c Hc. pose proof (coupling_weight_pos m l Hm). repeat split; try lra; try now apply intg_mix.
    apply Dom. apply in_flat_map in Hc as (b & Hb & Hc). apply in_map_iff in Hc as (j & <- & _).
    now apply splits_length in Hb.
  - now apply coupling_weight_total.
Qed.

(* ---- Vectors: any set with addition and an integral that does not change under shifts. ---- *)

Record vector_space {X} (I : integral X) (zero : X) (plus minus : X -> X -> X) : Prop := VectorSpace {
  plus_comm3 : forall u v w, plus u (plus v w) = plus v (plus u w);
  minus_plus : forall x u v, minus x (plus u v) = minus (minus x v) u;
  intg_shift : forall f v, intg I f -> intg I (fun x => f (minus x v));
  int_shift : forall f v, intg I f -> int I (fun x => f (minus x v)) = int I f
}.

(* The density of (sum of the vectors g of the batch) + noise of density phi. *)
Definition noisy_sum {A X} (zero : X) (plus minus : X -> X -> X) (phi : X -> R) (g : A -> X) (b : list A) (x : X) : R :=
  phi (minus x (fold_right (fun a v => plus (g a) v) zero b)).

(* The law of a triple: with probability q the vector a, else c. *)
Definition triple {X} (minus : X -> X -> X) (phi : X -> R) (q : R) (c a : X) (x : X) : R :=
  (1 - q) * phi (minus x c) + q * phi (minus x a).

Section Noise.
  Context {A X : Type} (I : integral X) (zero : X) (plus minus : X -> X -> X) (V : vector_space I zero plus minus)
    (phi : X -> R) (Hphi : density I phi) (g : A -> X).

  Let mu := noisy_sum zero plus minus phi g.

  Lemma noisy_density b : density I (mu b).
  Proof.
    destruct Hphi as (H0 & H1 & H2). unfold mu, noisy_sum. repeat split.
    - intro; apply H0.
    - now apply (intg_shift _ _ _ _ V).
    - now rewrite (int_shift _ _ _ _ V).
  Qed.

  Lemma noisy_permutation b b' x : Permutation b b' -> mu b x = mu b' x.
  Proof.
    intro P. unfold mu, noisy_sum. do 2 f_equal. induction P; simpl; try congruence. apply (plus_comm3 _ _ _ _ V).
  Qed.

  (* Up to one common shift the step given (B', j) is a triple. *)
  Lemma hockey_triple q y B j s s' :
    hockey I y (mix q (mu (j :: B)) (mu (s :: B))) (mix q (mu (j :: B)) (mu (s' :: B)))
    = hockey I y (triple minus phi q (g j) (g s)) (triple minus phi q (g j) (g s')).
  Proof.
    set (v := fold_right (fun a v => plus (g a) v) zero B).
    set (f := fun x => pos (triple minus phi q (g j) (g s) x - y * triple minus phi q (g j) (g s') x)).
    assert (Ht : forall c a, intg I (triple minus phi q c a)) by (intros c a; apply intg_lin;
      apply (intg_shift _ _ _ _ V), Hphi).
    assert (Hf : intg I f) by now apply intg_hockey.
    transitivity (int I (fun x => f (minus x v))); [ | now apply (int_shift _ _ _ _ V) ].
    apply int_ext; [ apply intg_hockey; apply intg_mix; apply noisy_density | ].
    intro x. unfold f, mix, triple, mu, noisy_sum. simpl. fold v. now rewrite !(minus_plus _ _ _ _ V).
  Qed.
End Noise.

Lemma on_batch_density {A X} (I : integral X) m (l : list A) mu : (m <= length l)%nat ->
  (forall b, density I (mu b)) -> density I (on_batch m l mu).
Proof.
  intros Hm H. repeat split.
  - intro x. apply Rmult_le_pos; [ left; apply Rinv_0_lt_compat; now apply count_pos | ].
    apply lsum_nonneg; intros; apply H.
  - apply intg_on_batch; intro; apply H.
  - apply int_on_batch; [ assumption | intro; split; apply H ].
Qed.

(** Settles: TRIPLES, COMPOSITION. T adaptive steps, each a uniform batch of m + 1 of the n = length l + 1 records,
    whose vectors g (any function of the past releases into the ball) are summed and noised: if the list of profiles
    dominates every triple of points of the ball, H_y <= F T y + T tau. *)
Theorem tight_composition :
  forall {A X : Type} (I : integral X) (zero : X) (plus minus : X -> X -> X) (phi : X -> R) (ball : X -> Prop)
    (m : nat) (s s' : A) (l : list A) (g : list X -> A -> X)
    (T N : nat) (K : nat -> profile) (F : nat -> profile) (tau : R),
  vector_space I zero plus minus -> density I phi -> (forall h a, ball (g h a)) ->
  (m < length l)%nat -> (0 < N)%nat -> 0 <= tau ->
  (forall i, (i < N)%nat -> proper (K i) /\ forall y, 0 <= y -> pos (1 - y) <= value (K i) y) ->
  (forall k, (k <= T)%nat -> proper (F k)) ->
  (forall y, 0 <= y -> pos (1 - y) <= value (F O) y) ->
  (forall k i y, (k < T)%nat -> (i < N)%nat -> 0 <= y -> value (product (K i) (F k)) y <= value (F (S k)) y) ->
  let q := INR (S m) / INR (S (length l)) in
  (forall c a a', ball c -> ball a -> ball a' ->
     dominated I N K tau (triple minus phi q c a) (triple minus phi q c a')) ->
  let p := fun r h => on_batch (S m) (r :: l) (noisy_sum zero plus minus phi (g h)) in
  forall y, 0 <= y -> sections I T (fun h => pos (joint (p s) h - y * joint (p s') h)) ->
  composed I T y (p s) (p s') <= value (F T) y + INR T * tau.
Proof.
  intros A X I zero plus minus phi ball m s s' l g T N K F tau V Hphi Hball Hm HN Htau HK PF HF0 HF q Dom p y Hy Sec.
  assert (Dp : forall r h, density I (p r h))
    by (intros r h; apply on_batch_density; [ simpl; lia | intro; now apply noisy_density ]).
  apply (adaptive_composition I T N (p s) (p s') (fun _ => K)); auto.
  intros k h _. apply step_dominated_by_triples; auto.
  - intro b; now apply noisy_density.
  - intros; now apply (noisy_permutation I zero plus minus).
  - fold q. intros B j _. destruct (Dom (g h j) (g h s) (g h s')) as (lam & L0 & L1 & L2); auto.
    exists lam. repeat split; [ assumption.. | ]. intros z Hz.
    rewrite (hockey_triple I zero plus minus V phi Hphi (g h) q z B j s s'). now apply L2.
Qed.
