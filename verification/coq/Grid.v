(* A profile whose atoms lie on a grid is above a convex falling function everywhere as soon as it is above at the grid
   points: the lattice of the program "connects the dots". Values at grid points make such a profile if they fall and
   their slopes grow. *)

From Coq Require Import Reals Lra List Lia.
From DPADMM Require Import Integral Profiles.
Import ListNotations.
Open Scope R_scope.

(* ---- Piecewise linear functions, as sums of hinges (slope, place): slope (place - w)_+. ---- *)

Definition hinge (l : list (R * R)) (w : R) : R := lsum (fun a => fst a * pos (snd a - w)) l.

(* The slope of the values v over the cell [u j, u (j+1)]. *)
Definition slope (u v : nat -> R) (j : nat) : R := (v (S j) - v j) / (u (S j) - u j).

(* The hinges of the interpolation from node j on, k cells being left after the cell j; beyond the last node the
   last slope is continued down to 0. *)
Fixpoint hinges (u v : nat -> R) (j k : nat) : list (R * R) :=
  match k with
  | O => if Req_EM_T (slope u v j) 0 then [] else [(- slope u v j, u (S j) - v (S j) / slope u v j)]
  | S k' => (slope u v (S j) - slope u v j, u (S j)) :: hinges u v (S j) k'
  end.

(* The checks on one array of values at the nodes u 0 .. u M: nonnegative, falling, convex, and reaching 0. *)
Definition array_checked (u v : nat -> R) (M : nat) : Prop :=
  (forall j, (j <= M)%nat -> 0 <= v j) /\
  (forall j, (j < M)%nat -> slope u v j <= 0) /\
  (forall j, (S j < M)%nat -> slope u v j <= slope u v (S j)) /\
  (slope u v (M - 1) < 0 \/ v M = 0).

Section Hinges.
  Context (u v : nat -> R) (M : nat) (Hu : forall j, (j < M)%nat -> u j < u (S j)) (Hv : array_checked u v M).

  Lemma hinges_left k : forall j w, (j + S k = M)%nat -> w <= u (S j) ->
    hinge (hinges u v j k) w = v (S j) + slope u v j * (w - u (S j)).
  Proof.
    destruct Hv as (V0 & V1 & V2 & V3). induction k as [ | k IH ]; intros j w Hj Hw; simpl.
    - assert (j = M - 1)%nat by lia. assert (S j = M) by lia.
      destruct (Req_EM_T (slope u v j) 0) as [ E | E ]; simpl.
      + rewrite E, Rmult_0_l, Rplus_0_r. replace (S j) with M by lia. subst j. destruct V3; [ lra | now symmetry ].
      + assert (Neg : slope u v j < 0) by (pose proof (V1 j ltac:(lia)); lra).
        assert (0 <= - (v (S j) / slope u v j)).
        { replace (- (v (S j) / slope u v j)) with (v (S j) / - slope u v j) by (field; lra).
          apply Rmult_le_pos; [ apply V0; lia | left; apply Rinv_0_lt_compat; lra ]. }
        unfold hinge; simpl. rewrite pos_of_nonneg by lra. field; lra.
    - unfold hinge in *; simpl. rewrite pos_of_nonneg by lra.
      rewrite IH by (lia || (pose proof (Hu (S j) ltac:(lia)); lra)).
      assert (E : v (S (S j)) = v (S j) + slope u v (S j) * (u (S (S j)) - u (S j))).
      { unfold slope. pose proof (Hu (S j) ltac:(lia)). field; lra. }
      rewrite E. ring.
  Qed.

  Lemma hinges_cell i : forall j k w, (j + S k = M)%nat -> (i <= k)%nat -> u (j + i) <= w <= u (S (j + i)) ->
    (i = O \/ u j <= w) ->
    hinge (hinges u v j k) w = v (S (j + i)) + slope u v (j + i) * (w - u (S (j + i))).
  Proof.
    induction i as [ | i IH ]; intros j k w Hj Hk Hw Hjw.
    - rewrite Nat.add_0_r in *. apply hinges_left; [ lia | apply Hw ].
    - destruct k as [ | k ]; [ lia | ]. simpl. unfold hinge; simpl. fold (hinge (hinges u v (S j) k) w).
      assert (Le : forall a b, (a <= b <= M)%nat -> u a <= u b).
      { intros a b Hab. induction b as [ | b IHb ]; [ replace a with O by lia; lra | ].
        destruct (Nat.eq_dec a (S b)) as [ -> | ]; [ lra | ].
        pose proof (IHb ltac:(lia)). pose proof (Hu b ltac:(lia)). lra. }
      pose proof (Le (S j) (j + S i)%nat ltac:(lia)).
      rewrite pos_of_nonpos by lra.
      replace (j + S i)%nat with (S j + i)%nat in * by lia.
      rewrite (IH (S j) k w) by (lia || assumption || (right; lra)). ring.
  Qed.

  Lemma hinges_good k : forall j a, (j + S k = M)%nat -> In a (hinges u v j k) -> 0 <= fst a /\ u (S j) <= snd a.
  Proof.
    destruct Hv as (V0 & V1 & V2 & V3). induction k as [ | k IH ]; intros j a Hj Ha; simpl in Ha.
    - destruct (Req_EM_T (slope u v j) 0) as [ E | E ]; simpl in Ha; [ easy | ]. destruct Ha as [ <- | [] ]; simpl.
      pose proof (V1 j ltac:(lia)). split; [ lra | ].
      assert (0 <= v (S j) / - slope u v j)
        by (apply Rmult_le_pos; [ apply V0; lia | left; apply Rinv_0_lt_compat; lra ]).
      replace (v (S j) / slope u v j) with (- (v (S j) / - slope u v j)) by (field; lra). lra.
    - destruct Ha as [ <- | Ha ]; simpl.
      + pose proof (V2 j ltac:(lia)). lra.
      + destruct (IH (S j) a ltac:(lia) Ha). pose proof (Hu (S j) ltac:(lia)). lra.
  Qed.
End Hinges.

Definition convex_falling (f : R -> R) : Prop :=
  (forall t y z, 0 <= t <= 1 -> 0 <= y -> 0 <= z -> f (t * y + (1 - t) * z) <= t * f y + (1 - t) * f z) /\
  (forall y z, 0 <= y <= z -> f z <= f y).

Definition grid (y : nat -> R) (n : nat) : Prop := y O = 0 /\ (0 < n)%nat /\ forall j, (j < n)%nat -> y j < y (S j).

Definition atoms_on_grid (y : nat -> R) (n : nat) (F : profile) : Prop :=
  forall a, In a (atoms F) -> exists j, (j <= n)%nat /\ snd a = y j.

Lemma value_convex_falling K : proper K -> convex_falling (value K).
Proof.
  intros (K0 & HK & _). split.
  - intros t y z Ht Hy Hz. unfold value. rewrite !Rmult_plus_distr_l, <- !lsum_scal.
    replace (t * base K + lsum (fun a => t * (fst a * pos (1 - y / snd a))) (atoms K)
      + ((1 - t) * base K + lsum (fun a => (1 - t) * (fst a * pos (1 - z / snd a))) (atoms K)))
      with (base K + (lsum (fun a => t * (fst a * pos (1 - y / snd a))) (atoms K)
        + lsum (fun a => (1 - t) * (fst a * pos (1 - z / snd a))) (atoms K))) by ring.
    rewrite <- lsum_plus. apply Rplus_le_compat_l, lsum_le; intros a Ha. destruct (HK a Ha).
    replace (t * (fst a * pos (1 - y / snd a)) + (1 - t) * (fst a * pos (1 - z / snd a)))
      with (fst a * (t * pos (1 - y / snd a) + (1 - t) * pos (1 - z / snd a))) by ring.
    apply Rmult_le_compat_l; [ assumption | ]. rewrite <- !pos_scale by lra.
    eapply Rle_trans; [ | apply pos_add ]. apply pos_mono. right; field; lra.
  - intros y z Hyz. apply Rplus_le_compat_l, lsum_le; intros a Ha. destruct (HK a Ha).
    apply Rmult_le_compat_l; [ assumption | ]. apply pos_mono.
    assert (y / snd a <= z / snd a) by (apply Rmult_le_compat_r; [ left; now apply Rinv_0_lt_compat | lra ]). lra.
Qed.

Lemma grid_le y n a b : grid y n -> (a <= b <= n)%nat -> y a <= y b.
Proof.
  intros (_ & _ & Hy) Hab. induction b as [ | b IHb ]; [ replace a with O by lia; lra | ].
  destruct (Nat.eq_dec a (S b)) as [ -> | ]; [ lra | ].
  pose proof (IHb ltac:(lia)). pose proof (Hy b ltac:(lia)). lra.
Qed.

(* Every z >= 0 lies in a cell or beyond the last point. *)
Lemma grid_locate y n z : grid y n -> 0 <= z -> y n <= z \/
  exists j t, (j < n)%nat /\ 0 <= t <= 1 /\ z = t * y j + (1 - t) * y (S j).
Proof.
  intros (Y0 & _ & Hy) Hz.
  assert (G : forall k, (k <= n)%nat -> y k <= z \/ exists j, (j < k)%nat /\ y j <= z <= y (S j)).
  { induction k as [ | k IH ]; intro Hk; [ left; lra | ].
    destruct (IH ltac:(lia)) as [ H | (j & ? & ?) ].
    - destruct (Rle_lt_dec (y (S k)) z); [ now left | ]. right; exists k; split; [ lia | lra ].
    - right; exists j; split; [ lia | assumption ]. }
  destruct (G n (le_n n)) as [ H | (j & Hj & Hz') ]; [ now left | right ].
  pose proof (Hy j Hj). exists j, ((y (S j) - z) / (y (S j) - y j)). repeat split; [ assumption | | | field; lra ].
  - apply Rmult_le_pos; [ lra | left; apply Rinv_0_lt_compat; lra ].
  - apply Rmult_le_reg_r with (y (S j) - y j); [ lra | ]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma grid_affine y n F : grid y n -> proper F -> atoms_on_grid y n F ->
  (forall j t, (j < n)%nat -> 0 <= t <= 1 ->
     value F (t * y j + (1 - t) * y (S j)) = t * value F (y j) + (1 - t) * value F (y (S j))) /\
  (forall z, y n <= z -> value F z = value F (y n)).
Proof.
  intros G (F0 & HF & _) On. pose proof G as (_ & _ & Hy). split.
  - intros j t Hj Ht. pose proof (Hy j Hj). unfold value. rewrite !Rmult_plus_distr_l, <- !lsum_scal.
    transitivity (base F + (lsum (fun a => t * (fst a * pos (1 - y j / snd a))) (atoms F)
      + lsum (fun a => (1 - t) * (fst a * pos (1 - y (S j) / snd a))) (atoms F))); [ | ring ].
    rewrite <- lsum_plus. f_equal. apply lsum_ext; intros a Ha. destruct (HF a Ha) as (_ & Hs).
    destruct (On a Ha) as (k & Hk & Ek). assert (Si : 0 < / snd a) by now apply Rinv_0_lt_compat.
    assert (E : snd a * / snd a = 1) by (field; lra).
    destruct (Nat.le_gt_cases k j) as [ L | L ].
    + pose proof (grid_le y n k j G ltac:(lia)).
      assert (Z : forall w, y k <= w -> pos (1 - w / snd a) = 0).
      { intros w Hw. apply pos_of_nonpos. unfold Rdiv. rewrite <- Ek in Hw.
        pose proof (Rmult_le_compat_r (/ snd a) _ _ (Rlt_le _ _ Si) Hw). lra. }
      rewrite !Z by nra. ring.
    + pose proof (grid_le y n (S j) k G ltac:(lia)).
      assert (Z : forall w, w <= y k -> pos (1 - w / snd a) = 1 - w / snd a).
      { intros w Hw. apply pos_of_nonneg. unfold Rdiv. rewrite <- Ek in Hw.
        pose proof (Rmult_le_compat_r (/ snd a) _ _ (Rlt_le _ _ Si) Hw). lra. }
      rewrite !Z by nra. field; lra.
  - intros z Hz. unfold value. f_equal. apply lsum_ext; intros a Ha. destruct (HF a Ha) as (_ & Hs).
    destruct (On a Ha) as (k & Hk & Ek). pose proof (grid_le y n k n G ltac:(lia)).
    assert (Si : 0 < / snd a) by now apply Rinv_0_lt_compat. assert (E : snd a * / snd a = 1) by (field; lra).
    assert (Z : forall w, y k <= w -> pos (1 - w / snd a) = 0).
    { intros w Hw. apply pos_of_nonpos. unfold Rdiv. rewrite <- Ek in Hw.
      pose proof (Rmult_le_compat_r (/ snd a) _ _ (Rlt_le _ _ Si) Hw). lra. }
    rewrite !Z by lra. ring.
Qed.

(** Settles: CONNECT-THE-DOTS, L. Connecting the dots: a profile with atoms on the grid that is above a convex falling
    function at every grid point is above it everywhere. *)
Theorem connect_the_dots :
  forall (f : R -> R) (F : profile) (y : nat -> R) (n : nat),
  convex_falling f -> grid y n -> proper F -> atoms_on_grid y n F ->
  (forall j, (j <= n)%nat -> f (y j) <= value F (y j)) ->
  forall z, 0 <= z -> f z <= value F z.
Proof.
  intros f F y n (Conv & Fall) G PF On Node z Hz. destruct (grid_affine y n F G PF On) as (Cell & Far).
  assert (Pos : forall j, (j <= n)%nat -> 0 <= y j).
  { intros j Hj. destruct G as (Y0 & G'). rewrite <- Y0. apply (grid_le y n); [ split; auto | lia ]. }
  destruct (grid_locate y n z G Hz) as [ H | (j & t & Hj & Ht & -> ) ].
  - rewrite (Far z H). eapply Rle_trans; [ apply (Fall (y n) z); split; auto | auto ].
  - rewrite Cell by assumption. eapply Rle_trans; [ apply Conv; auto; apply Pos; lia | ].
    apply Rplus_le_compat; apply Rmult_le_compat_l; try lra; apply Node; lia.
Qed.

(* ---- The profile on the grid with given values v 0 = 1, v 1, .., v n at the grid points. ---- *)

Definition grid_profile (y v : nat -> R) (n : nat) : profile :=
  Profile (v n) (map (fun a => (fst a * snd a, snd a)) (hinges y (fun j => v j - v n) 0 (n - 1))).

Lemma hinges_places u v k : forall j a, In a (hinges u v j k) -> v (S (j + k)) = 0 ->
  exists i, (j < i <= S (j + k))%nat /\ snd a = u i.
Proof.
  induction k as [ | k IH ]; intros j a Ha Hv; simpl in Ha.
  - destruct (Req_EM_T (slope u v j) 0) as [ E | E ]; [ easy | ]. destruct Ha as [ <- | [] ]. rewrite Nat.add_0_r in *.
    exists (S j). split; [ lia | ]. simpl. rewrite Hv. unfold Rdiv; ring.
  - destruct Ha as [ <- | Ha ]; [ exists (S j); split; [ lia | reflexivity ] | ].
    destruct (IH (S j) a Ha) as (i & Hi & Ei).
    + replace (S (S j + k)) with (S (j + S k)) by lia. exact Hv.
    + exists i; split; [ lia | exact Ei ].
Qed.

(** Settles: CONNECT-THE-DOTS. Values at grid points that start at 1, fall, and have growing slopes are those of exactly
    such a profile: every weight y_j (slope right - slope left) is nonnegative. *)
Theorem grid_values_make_a_profile :
  forall (y v : nat -> R) (n : nat),
  grid y n -> v O = 1 -> 0 <= v n -> (forall j, (j < n)%nat -> slope y v j <= 0) ->
  (forall j, (S j < n)%nat -> slope y v j <= slope y v (S j)) ->
  proper (grid_profile y v n) /\ atoms_on_grid y n (grid_profile y v n) /\
  forall j, (j <= n)%nat -> value (grid_profile y v n) (y j) = v j.
Proof.
  intros y v n G V0 Vn Neg Grow. pose proof G as (Y0 & Hn & Hy). set (s := fun j => v j - v n).
  assert (Es : forall j, slope y s j = slope y v j) by (intro j; unfold slope, s; f_equal; ring).
  assert (Ok : array_checked y s n).
  { assert (Le : forall j k, (j + k = n)%nat -> v n <= v j).
    { intros j k; revert j; induction k as [ | k IH ]; intros j E; [ replace j with n by lia; lra | ].
      pose proof (IH (S j) ltac:(lia)). pose proof (Neg j ltac:(lia)) as S0. pose proof (Hy j ltac:(lia)).
      assert (v (S j) - v j <= 0); [ | lra ].
      replace (v (S j) - v j) with (slope y v j * (y (S j) - y j)) by (unfold slope; field; lra). nra. }
    repeat split.
    - intros j Hj. unfold s. pose proof (Le j (n - j)%nat ltac:(lia)). lra.
    - intros; rewrite Es; auto.
    - intros; rewrite !Es; auto.
    - right. unfold s. ring. }
  set (h := hinges y s 0 (n - 1)).
  assert (Y1 : 0 < y 1%nat) by (rewrite <- Y0; apply Hy; lia).
  assert (Good : forall a, In a h -> 0 <= fst a /\ 0 < snd a).
  { intros a Ha. destruct (hinges_good y s n Hy Ok (n - 1) 0 a ltac:(lia) Ha). lra. }
  assert (Val : forall z, value (grid_profile y v n) z = v n + hinge h z).
  { intro z. unfold value, grid_profile; simpl. f_equal. rewrite lsum_map. simpl. fold s h. apply lsum_ext; intros a Ha.
    destruct (Good a Ha). rewrite Rmult_assoc, <- pos_scale by lra. do 2 f_equal. field; lra. }
  assert (H0 : hinge h 0 = 1 - v n).
  { unfold h. rewrite (hinges_left y s n Hy Ok) by (lia || lra). unfold slope, s. rewrite Y0, V0. field; lra. }
  repeat split.
  - exact Vn.
  - apply in_map_iff in H as (b & <- & Hb). fold s h in Hb. destruct (Good b Hb). simpl. apply Rmult_le_pos; lra.
  - apply in_map_iff in H as (b & <- & Hb). fold s h in Hb. now destruct (Good b Hb).
  - simpl. rewrite lsum_map. simpl. fold s h.
    replace (lsum (fun a => fst a * snd a) h) with (hinge h 0); [ lra | ].
    apply lsum_ext; intros a Ha. destruct (Good a Ha). rewrite Rminus_0_r, pos_of_nonneg by lra. reflexivity.
  - intros a Ha. apply in_map_iff in Ha as (b & <- & Hb). fold s in Hb.
    destruct (hinges_places y s (n - 1) 0 b Hb) as (i & Hi & Ei).
    + replace (S (0 + (n - 1))) with n by lia. unfold s; ring.
    + exists i; split; [ lia | exact Ei ].
  - intros j Hj. rewrite Val. destruct j as [ | j ].
    + rewrite Y0, H0, V0. ring.
    + pose proof (Hy j ltac:(lia)). pose proof (grid_le y n 0 (S j) G ltac:(lia)).
      unfold h. rewrite (hinges_cell y s n Hy Ok j 0) by (lia || (simpl; lra) || (right; lra)).
      simpl. unfold s. ring.
Qed.
