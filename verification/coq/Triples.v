(* A step on a batch of m of n records that adds noise is a mixture of triples: with probability q = m/n the vector of
   the exchanged record, else that of another. Both data sets share the weights of the mixture. *)

From Coq Require Import Reals Lra List Lia Permutation.
From DPADMM Require Import Integral HockeyStick Profiles Composition Batches Subsampling.
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

Lemma triple_density {X} (I : integral X) zero plus minus phi q c a : vector_space I zero plus minus -> density I phi ->
  0 <= q <= 1 -> density I (triple minus phi q c a).
Proof.
  intros V (H0 & H1 & H2) Hq. unfold triple. repeat split.
  - intro x. apply Rplus_le_le_0_compat; apply Rmult_le_pos; auto; lra.
  - apply intg_lin; now apply (intg_shift _ _ _ _ V).
  - rewrite (int_lin _ I) by now apply (intg_shift _ _ _ _ V). rewrite !(int_shift _ _ _ _ V), H2 by assumption. ring.
Qed.
