(* The divergence of T + 1 releases is the expectation, over the first, of the divergence of the rest at y q/p. With
   shared randomness revealed, T + 1 adaptive noisy steps on batches cost at most the supremum over triples of that
   expectation. *)

From Coq Require Import Reals Lra List Lia Permutation FunctionalExtensionality.
From DPADMM Require Import Integral HockeyStick Profiles Composition Batches Subsampling Triples.
Import ListNotations.
Open Scope R_scope.

(* The mechanism that remains after the first release was x. *)
Definition after {X} (p : list X -> X -> R) (x : X) : list X -> X -> R := fun h => p (h ++ [x]).

Lemma joint_after {X} (p : list X -> X -> R) x h : joint p (h ++ [x]) = p [] x * joint (after p x) h.
Proof. induction h as [ | z h IH ]; simpl; [ ring | ]. rewrite IH. unfold after. ring. Qed.

Lemma iterated_after {X} (I : integral X) k x h f :
  iterated I k (h ++ [x]) f = iterated I k h (fun h => f (h ++ [x])).
Proof.
  revert h; induction k as [ | k IH ]; intro h; simpl; [ reflexivity | ].
  f_equal. apply functional_extensionality; intro z. apply (IH (z :: h)).
Qed.

Lemma first_release {X} (I : integral X) T y p q x : 0 < p [] x ->
  sections I T (fun h => pos (joint (after p x) h - y * q [] x / p [] x * joint (after q x) h)) ->
  iterated I T [x] (fun h => pos (joint p h - y * joint q h))
  = p [] x * composed I T (y * q [] x / p [] x) (after p x) (after q x).
Proof.
  intros Hp S. rewrite (iterated_after I T x []).
  set (f := fun h => pos (joint (after p x) h - y * q [] x / p [] x * joint (after q x) h)) in *.
  replace (fun h => pos (joint p (h ++ [x]) - y * joint q (h ++ [x]))) with (fun h => p [] x * f h + 0 * f h).
  - rewrite (iterated_lin I T []) by assumption. unfold composed. fold f. ring.
  - apply functional_extensionality; intro h. unfold f. rewrite !joint_after, Rmult_0_l, Rplus_0_r, <- pos_scale by lra.
    f_equal. field; lra.
Qed.

(** Settles: TRIPLES, COMPOSITION. The step formula: H_y(joint) = E over x ~ p of H_{y q(x)/p(x)}(rest given x). *)
Theorem step_formula :
  forall {X : Type} (I : integral X) (T : nat) (y : R) (p q : list X -> X -> R),
  (forall x, 0 < p [] x) ->
  (forall x y, sections I T (fun h => pos (joint (after p x) h - y * joint (after q x) h))) ->
  composed I (S T) y p q
  = int I (fun x => p [] x * composed I T (y * q [] x / p [] x) (after p x) (after q x)).
Proof.
  intros X I T y p q Hp S. unfold composed at 1. simpl. f_equal. apply functional_extensionality; intro x.
  now apply first_release.
Qed.

Lemma iterated_zero {X} (I : integral X) k h : iterated I k h (fun _ => 0) = 0.
Proof.
  revert h; induction k as [ | k IH ]; intro h; simpl; [ reflexivity | ].
  transitivity (int I (fun _ => 0)); [ f_equal | apply int_zero ]. apply functional_extensionality; intro; apply IH.
Qed.

Lemma sections_zero {X} (I : integral X) T : sections I T (fun _ => 0).
Proof. intros k h _. eapply intg_ext; [ | apply (intg_zero _ I) ]. intro x; symmetry; apply iterated_zero. Qed.

Lemma iterated_sum {X A} (I : integral X) T (w : A -> R) (f : A -> list X -> R) l :
  (forall a, In a l -> sections I T (f a)) ->
  sections I T (fun h => lsum (fun a => w a * f a h) l) /\
  iterated I T [] (fun h => lsum (fun a => w a * f a h) l) = lsum (fun a => w a * iterated I T [] (f a)) l.
Proof.
  induction l as [ | a l IH ]; simpl; intro S.
  - split; [ apply sections_zero | apply iterated_zero ].
  - destruct IH as (S1 & E1); [ auto | ].
    replace (fun h => w a * f a h + lsum (fun a => w a * f a h) l)
      with (fun h => w a * f a h + 1 * lsum (fun a => w a * f a h) l)
      by (apply functional_extensionality; intro; ring).
    split; [ apply sections_lin; auto | ]. rewrite (iterated_lin I T []) by auto. rewrite E1; ring.
Qed.

(* Jensen: the divergence of the rest is convex in y. *)
Lemma composed_jensen {X A} (I : integral X) T p q (t z : A -> R) l :
  (forall y, sections I T (fun h => pos (joint p h - y * joint q h))) ->
  (forall a, In a l -> 0 <= t a) -> lsum t l = 1 ->
  composed I T (lsum (fun a => t a * z a) l) p q <= lsum (fun a => t a * composed I T (z a) p q) l.
Proof.
  intros S Ht T1.
  destruct (iterated_sum I T t (fun a h => pos (joint p h - z a * joint q h)) l) as (Sf & Ef); [ auto | ].
  unfold composed. rewrite <- Ef. apply iterated_le; [ apply S | exact Sf | ]. intro h.
  replace (joint p h - _) with (lsum (fun a => t a * (joint p h - z a * joint q h)) l).
  - clear -Ht. induction l as [ | a l IH ]; simpl; [ rewrite pos_of_nonneg; lra | ].
    eapply Rle_trans; [ apply pos_add | ]. rewrite pos_scale by (apply Ht; now left).
    apply Rplus_le_compat_l, IH; intros; apply Ht; now right.
  - rewrite (lsum_ext (fun a => t a * (_ - _)) (fun a => joint p h * t a + - joint q h * (t a * z a)))
      by (intros; ring).
    rewrite lsum_plus, !lsum_scal, T1. ring.
Qed.

(** Settles: TRIPLES. If the first release is a mixture with shared weights, and F bounds the rest whatever the first
    release was, T + 1 steps cost at most the largest E over x ~ P of F(y Q/P) of the parts of the mixture. *)
Theorem mixture_step :
  forall {X A : Type} (I : integral X) (T : nat) (y D : R) (p q : list X -> X -> R) (F : R -> R)
    (w : A -> R) (P Q : A -> X -> R) (l : list A),
  0 <= y -> (forall a x, 0 < P a x /\ 0 < Q a x) -> (forall a, In a l -> 0 < w a) -> lsum w l = 1 ->
  (forall x, p [] x = lsum (fun a => w a * P a x) l) -> (forall x, q [] x = lsum (fun a => w a * Q a x) l) ->
  (forall x y, 0 <= y -> composed I T y (after p x) (after q x) <= F y) ->
  (forall x y, sections I T (fun h => pos (joint (after p x) h - y * joint (after q x) h))) ->
  sections I (S T) (fun h => pos (joint p h - y * joint q h)) ->
  (forall a, In a l -> intg I (fun x => P a x * F (y * Q a x / P a x)) /\
                       int I (fun x => P a x * F (y * Q a x / P a x)) <= D) ->
  composed I (S T) y p q <= D.
Proof.
  intros X A I T y D p q F w P Q l Hy Pos Hw W Ep Eq HF Srest Sall HD.
  set (G := fun a x => P a x * F (y * Q a x / P a x)).
  apply Rle_trans with (int I (fun x => lsum (fun a => w a * G a x) l)).
  - unfold composed. simpl. apply int_le.
    + now apply (Sall T []).
    + apply (intg_sum I (fun a x => w a * G a x)). intros a Ha. apply intg_scal. now apply HD.
    + intro x.
      assert (Hp : 0 < p [] x).
      { rewrite Ep. destruct l as [ | a l ]; simpl in *; [ lra | ].
        apply Rplus_lt_le_0_compat; [ apply Rmult_lt_0_compat; [ auto | apply Pos ] | ].
        apply lsum_nonneg; intros. left. apply Rmult_lt_0_compat; [ auto | apply Pos ]. }
      rewrite first_release by auto.
      set (t := fun a => w a * P a x / p [] x).
      assert (Ht : forall a, In a l -> 0 < t a)
        by (intros; apply Rdiv_lt_0_compat; [ apply Rmult_lt_0_compat; [ auto | apply Pos ] | assumption ]).
      assert (T1 : lsum t l = 1).
      { unfold t. rewrite (lsum_ext _ (fun a => / p [] x * (w a * P a x))) by (intros; unfold Rdiv; ring).
        rewrite lsum_scal, <- Ep. field; lra. }
      assert (Ez : y * q [] x / p [] x = lsum (fun a => t a * (y * Q a x / P a x)) l).
      { rewrite Eq. unfold t. rewrite (lsum_ext (fun a => _ / _ * _) (fun a => y / p [] x * (w a * Q a x))).
        - rewrite lsum_scal. field; lra.
        - intros a _. pose proof (Pos a x). field; lra. }
      rewrite Ez. eapply Rle_trans.
      * apply Rmult_le_compat_l; [ lra | ]. apply composed_jensen; auto. intros; left; auto.
      * rewrite <- lsum_scal. apply lsum_le; intros a Ha. destruct (Pos a x) as (HP & HQ).
        replace (p [] x * (t a * composed I T (y * Q a x / P a x) (after p x) (after q x)))
          with (w a * P a x * composed I T (y * Q a x / P a x) (after p x) (after q x)) by (unfold t; field; lra).
        unfold G. rewrite Rmult_assoc. apply Rmult_le_compat_l; [ left; auto | ].
        apply Rmult_le_compat_l; [ lra | ]. apply HF.
        apply Rmult_le_pos; [ nra | left; now apply Rinv_0_lt_compat ].
  - rewrite (int_sum I (fun a x => w a * G a x)) by (intros; apply intg_scal; now apply HD).
    apply Rle_trans with (lsum (fun a => D * w a) l).
    + apply lsum_le; intros a Ha. rewrite int_scal by now apply HD. rewrite (Rmult_comm D).
      apply Rmult_le_compat_l; [ left; auto | now apply HD ].
    + rewrite lsum_scal, W. lra.
Qed.

(** Settles: TRIPLES. T + 1 steps, the first of which is a noisy sum over a uniform batch of m + 1 of n records: at most
    the supremum D over triples of points of the ball of E over x ~ P_t of F(y Q_t/P_t). *)
Theorem reduction_to_triples :
  forall {A X : Type} (I : integral X) (zero : X) (plus minus : X -> X -> X) (phi : X -> R) (ball : X -> Prop)
    (m : nat) (s s' : A) (l : list A) (g : A -> X) (T : nat) (y D : R) (p q : list X -> X -> R) (F : R -> R),
  vector_space I zero plus minus -> density I phi -> (forall x, 0 < phi x) -> (forall a, ball (g a)) ->
  (m < length l)%nat -> 0 <= y ->
  let r := INR (S m) / INR (S (length l)) in
  (forall x, p [] x = on_batch (S m) (s :: l) (noisy_sum zero plus minus phi g) x) ->
  (forall x, q [] x = on_batch (S m) (s' :: l) (noisy_sum zero plus minus phi g) x) ->
  (forall x y, 0 <= y -> composed I T y (after p x) (after q x) <= F y) ->
  (forall x y, sections I T (fun h => pos (joint (after p x) h - y * joint (after q x) h))) ->
  sections I (S T) (fun h => pos (joint p h - y * joint q h)) ->
  (forall c a a', ball c -> ball a -> ball a' ->
     let P := triple minus phi r c a in let Q := triple minus phi r c a' in
     intg I (fun x => P x * F (y * Q x / P x)) /\ int I (fun x => P x * F (y * Q x / P x)) <= D) ->
  composed I (S T) y p q <= D.
Proof.
  intros A X I zero plus minus phi ball m s s' l g T y D p q F V Hphi Ppos Hball Hm Hy r Ep Eq HF Srest Sall HD.
  set (mu := noisy_sum zero plus minus phi g).
  assert (Hr : 0 < r <= 1).
  { split; [ apply Rdiv_lt_0_compat; apply lt_0_INR; lia | ].
    apply Rmult_le_reg_r with (INR (S (length l))); [ apply lt_0_INR; lia | ]. unfold r, Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by (apply not_0_INR; lia). apply le_INR; lia. }
  assert (Pmix : forall c a x, 0 < mix r (mu c) (mu a) x).
  { intros c a x. unfold mix, mu, noisy_sum. apply Rplus_le_lt_0_compat.
    - apply Rmult_le_pos; [ lra | left; apply Ppos ].
    - apply Rmult_lt_0_compat; [ lra | apply Ppos ]. }
  apply (mixture_step I T y D p q F (fun _ => coupling_weight m l)
    (fun c => mix r (mu (snd c :: fst c)) (mu (s :: fst c))) (fun c => mix r (mu (snd c :: fst c)) (mu (s' :: fst c)))
    (couplings m l)); auto.
  - intros; now apply coupling_weight_pos.
  - now apply coupling_weight_total.
  - intro x. rewrite Ep. apply on_batch_couplings; [ assumption | ].
    intros; now apply (noisy_permutation I zero plus minus).
  - intro x. rewrite Eq. apply on_batch_couplings; [ assumption | ].
    intros; now apply (noisy_permutation I zero plus minus).
  - intros (B, j) _. cbn [fst snd].
    destruct (HD (g j) (g s) (g s')) as (H1 & H2); auto.
    set (v := fold_right (fun a v => plus (g a) v) zero B).
    set (f := fun x => triple minus phi r (g j) (g s) x * F (y * triple minus phi r (g j) (g s') x / triple minus phi r
      (g j) (g s) x)) in *.
    replace (fun x => mix r (mu (j :: B)) (mu (s :: B)) x
      * F (y * mix r (mu (j :: B)) (mu (s' :: B)) x / mix r (mu (j :: B)) (mu (s :: B)) x))
      with (fun x => f (minus x v)).
    + split; [ now apply (intg_shift _ _ _ _ V) | ]. rewrite (int_shift _ _ _ _ V) by assumption. exact H2.
    + apply functional_extensionality; intro x. unfold f, mix, triple, mu, noisy_sum. simpl. fold v.
      now rewrite !(minus_plus _ _ _ _ V).
Qed.
